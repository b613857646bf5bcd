"""A/B: two revisions of the project measured interleaved, so that what happens to the machine happens to both.

``worktrees`` lays out a revision in a folder of its own and takes it away again, ``contender`` asks such a tree for its rows, and
``session`` lets processes of the two alternate. The verdict is :func:`derive_bench.measure.compare.compare.compare`'s, round against round.
"""
