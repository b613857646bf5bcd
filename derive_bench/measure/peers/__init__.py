"""Peers: the libraries a user has instead, measured beside ours on the same inputs.

``adapters`` says which there are, ``environments`` where each is installed, ``contender`` runs one in a process of its own, ``session``
checks and measures them in turn, ``report`` makes the table and the details.
"""
