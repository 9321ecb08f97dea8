"""Running a scene: simulation, stepping loop, time-step choice, ledger, probes, run folder, checkpoint and resume."""
