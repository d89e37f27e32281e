"""The face world whose true effects are known: who lives in it, and what is set by hand.

`populations` draws faces, `do` sets some of their attributes and leaves all others, `celeba` labels
them as that data set does, `known_truth` puts a latent space in front of them, and `batches`
renders whole sets into a folder.
"""
