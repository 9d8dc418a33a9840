"""Drawing from a real sampler and holding what comes out against its plan: privacy loss, accuracy, fit."""
