"""One module per role; each defines run(job, progress) -> Result."""
