"""Localise: which part a slower row is slower by.

``explain`` turns two results and their comparison into an :class:`explain.Explanation` for each slower row that has parts; ``show`` puts
it into words. Everything comes from the two results: the parts of a row stand in its metadata.
"""
