"""Looks before the answer: which ones to take.

procedure   cheap looks that tell how precise the last one must be; the proof of coverage
tuning      the procedure that costs least
"""
