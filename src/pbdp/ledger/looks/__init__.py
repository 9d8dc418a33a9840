"""Several looks at one number: what they say together, and which ones to take.

average     looks under one key as one estimate, and the noise of the next one
procedure   cheap looks that tell how precise the last one must be; the proof of coverage
tuning      the procedure that costs least
"""
