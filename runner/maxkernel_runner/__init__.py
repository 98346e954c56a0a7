"""The Python side of an evaluation: one process per role, a job on one descriptor, a result on another."""
