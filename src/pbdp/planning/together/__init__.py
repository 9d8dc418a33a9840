"""Several requirements at once, a count within 20 and a sum within 5 % say: the least joint epsilon.

`pbdp.plan([visits, spend])` asks for it. `joint` says what is guaranteed and proves it, `search` finds the
designs.
"""
