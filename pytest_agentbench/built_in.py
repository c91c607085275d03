"""What comes with the package and stands behind the same hooks and seams as what others write."""

EXTENSIONS = ("pytest_agentbench.tau2.hooks",)
"""Modules whose functions named `pytest_agentbench_…` answer our hooks, in pytest sessions and outside of them."""

COMMANDS = {
    "export": ("write a suite's scenarios as τ²-bench tasks (JSON)", "pytest_agentbench.tau2.export"),
    "convert": ("turn a τ-bench v1 task list into scenarios", "pytest_agentbench.tau2.convert"),
    "parity": ("compare our τ²-bench rewards with recorded ones", "pytest_agentbench.tau2.parity"),
}
"""Commands besides our own: what each is for, and its module."""
