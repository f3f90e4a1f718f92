# SPDX-License-Identifier: Apache-2.0
"""Detail windows: operators, or Python functions, of chosen steps of this process.

boundary.py sees where steps begin and end while they run, config.py reads what was requested,
windows.py starts and stops recorders at those places, and the recorders (torch_window.py,
tf_window.py and jax_window.py over trace_window.py, python_window.py) write one file each into the
folder that the recorder watches.
"""
