"""The parts of loss_lab.py: cells and their plan, namespaces, the two sides, metrics, and how figures are printed."""
