"""The self-test: does the instrument find what it is there to find, and does it put it in the right place?

``trials`` says what is slowed down and where that must be found, ``session`` measures base and slowed-down workers interleaved and lets
comparison and localisation judge the two result files, ``figures`` counts what they got right.
"""
