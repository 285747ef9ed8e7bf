using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>Request blocks for tests.</summary>
internal static class RequestBlocks
{
    public static byte[] Make(
        string target = "/", string method = "GET", HeaderBlockFlags flags = HeaderBlockFlags.None, string authority = "web.localhost",
        params (string Name, string Value)[] fields)
    {
        var buffer = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginRequest(flags, method, "http", authority, target);
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        return buffer[..writer.Complete()];
    }
}
