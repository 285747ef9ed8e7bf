using BenchmarkDotNet.Running;
using Tunnel2.Benchmarks.Http2;

if (args is ["http2-clients", var service])
{
    await Http2ClientRace.RunAsync(new Uri(service));
    return 0;
}

return BenchmarkSwitcher.FromAssembly(typeof(Tunnel2.Benchmarks.Protocol.FrameHeaderBenchmarks).Assembly)
    .Run(args)
    .All(static summary => !summary.HasCriticalValidationErrors)
    ? 0
    : 1;
