"""Instruction counts: what a call of each row costs in instructions, under valgrind's callgrind, in place of seconds.

A count does not depend on load, frequency or neighbours, so it serves where time cannot be measured. :mod:`valgrind` finds the
tool and says how a process is started under it, :mod:`dumps` reads what it writes, :mod:`worker` counts the rows of one process
and :mod:`session` runs the processes and makes pyperf benchmarks of what they say. Their unit is pyperf's ``integer``.
"""

PROFILE = "count"
"""The profile in a result file that holds counts."""

UNIT = "integer"
"""pyperf's unit of such a file; those with times have ``second``."""

REPEATS_WITHIN = 0.0005
"""Two processes that do the same differ by no more than this share, unless the row uses randomness or the clock."""

LAYOUT_NOISE = 0.002
"""What a change elsewhere in the code can move a row's count by, as a share: objects lie at other addresses, which decides how far
a search in a hash table goes, whether an allocator takes its long way and which way a copying loop of the C library takes."""

GATE = 0.005
"""The share above which a change of a count is a verdict by default: twice the layout noise and more, since it may fall on base
and head in opposite directions; half of the one percent that must be found."""
