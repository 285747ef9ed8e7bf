using BenchmarkDotNet.Running;

return BenchmarkSwitcher.FromAssembly(typeof(Tunnel2.Benchmarks.Protocol.FrameHeaderBenchmarks).Assembly)
    .Run(args)
    .All(static summary => !summary.HasCriticalValidationErrors)
    ? 0
    : 1;
