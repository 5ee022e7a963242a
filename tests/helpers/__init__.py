"""What tests share: inputs, cases, judges, a CUDA driver without a device."""
