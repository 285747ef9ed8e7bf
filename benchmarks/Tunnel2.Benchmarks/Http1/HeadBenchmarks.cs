using BenchmarkDotNet.Attributes;
using Tunnel2.Http1;

namespace Tunnel2.Benchmarks.Http1;

/// <summary>The agent's half of HTTP/1.1: writes requests, parses responses; and the parser for visitors' requests.</summary>
[MemoryDiagnoser]
public class HeadBenchmarks
{
    private static readonly (byte[] Name, byte[] Value)[] _fields = [.. SampleHeads.BrowserFields];
    private readonly byte[] _request = SampleHeads.BrowserRequest;
    private readonly byte[] _response = SampleHeads.ServiceResponse;
    private readonly byte[] _written = new byte[4096];
    private readonly RequestHeadParser _requests = new();
    private readonly ResponseHeadParser _responses = new();

    /// <summary>A benchmark of a refusal would be another one.</summary>
    [GlobalSetup]
    public void Setup()
    {
        if (ParseRequest() != _request.Length || ParseResponse() != _response.Length || WriteRequest() == 0)
        {
            throw new InvalidOperationException("The sample heads are not what the parsers accept.");
        }
    }

    /// <summary>Parses a request head of 12 fields.</summary>
    [Benchmark]
    public int ParseRequest()
    {
        _requests.Reset();
        return _requests.Parse(_request, out var consumed) == ParseStatus.Done ? consumed : 0;
    }

    /// <summary>Parses a response head of 6 fields.</summary>
    [Benchmark]
    public int ParseResponse()
    {
        _responses.Reset(KnownMethod.Get);
        return _responses.Parse(_response, out var consumed) == ParseStatus.Done ? consumed : 0;
    }

    /// <summary>Writes a request head of 12 fields.</summary>
    [Benchmark]
    public int WriteRequest()
    {
        var writer = new HeadWriter(_written);
        writer.WriteRequestLine("GET"u8, "/products/1234?color=blue"u8);
        foreach (var (name, value) in _fields)
        {
            writer.WriteField(name, value);
        }

        return writer.WriteEnd() == HeadWriteStatus.Ok ? writer.Written : 0;
    }
}
