"""Which numbers get noise where several tables are asked for, and how the tables follow from them.

`strategy` says what a strategy is and proves what is claimed of all of them; one file for each kind follows.
"""
