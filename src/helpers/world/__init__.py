"""The face world whose true effects are known: who lives in it, and what is set by hand.

`populations` draws faces, `interventions` sets one attribute and leaves all others, `celeba` labels
them as that data set does, and `batches` renders whole sets into a folder.
"""
