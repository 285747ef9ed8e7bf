using System.IO.Pipelines;

namespace Tunnel2.Embed.Connections;

/// <summary>Two ends of two pipes.</summary>
/// <param name="Input">What is read.</param>
/// <param name="Output">What is written.</param>
internal sealed record DuplexPipe(PipeReader Input, PipeWriter Output) : IDuplexPipe;
