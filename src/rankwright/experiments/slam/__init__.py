"""SLAM surrogates and their perceptron: the paper prints no experiments, so its theorems."""
