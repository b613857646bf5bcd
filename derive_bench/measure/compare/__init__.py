"""Compare: what changed from one result to another, row by row, and whether to believe it.

``loading`` reads a file into rounds, ``comparable`` says why two files must not be compared, ``compare`` gives a
:class:`verdict.Comparison` with a verdict per row, by the tests of ``statistics``; ``formats`` shows it. Nothing here measures or prints.
"""
