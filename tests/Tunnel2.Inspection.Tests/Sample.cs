using System.Text;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Tests;

/// <summary>Makes exchanges as the agent's pumps do.</summary>
internal static class Sample
{
    /// <summary>A store with a stopped clock.</summary>
    public static ExchangeStore Store(InspectionLimits? limits = null, TimeProvider? time = null) =>
        new(limits ?? InspectionLimits.Default, time ?? new Tunnel2.TestUtilities.ManualTimeProvider());

    /// <summary>A request's block.</summary>
    public static byte[] Block(string method, string target, params (string Name, string Value)[] fields) =>
        Block(method, target, HeaderBlockFlags.None, fields);

    public static byte[] Block(string method, string target, HeaderBlockFlags flags, params (string Name, string Value)[] fields)
    {
        var buffer = new byte[64 * 1024];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginRequest(flags, Bytes(method), "http"u8, "web.localhost:12000"u8, Bytes(target));
        foreach (var (name, value) in fields)
        {
            writer.AddField(Bytes(name), Bytes(value));
        }

        return buffer[..writer.Complete()];
    }

    /// <summary>A block of trailers.</summary>
    public static byte[] Trailers(params (string Name, string Value)[] fields) =>
        TrailerBlock.Of([.. fields.Select(static field => new HeadField(Bytes(field.Name), Bytes(field.Value)))]);

    /// <summary>A request without its answer.</summary>
    public static ExchangeCapture Asked(
        ExchangeStore store, string method = "GET", string target = "/", string body = "", params (string Name, string Value)[] fields)
    {
        var capture = store.Begin(Block(method, target, fields))!;
        capture.OnConnected();
        capture.OnSent();
        capture.OnRequestBody(Bytes(body));
        capture.OnRequestEnded();
        return capture;
    }

    /// <summary>The answer to a request.</summary>
    public static ExchangeCapture Answered(this ExchangeCapture capture, string head, byte[]? body = null)
    {
        capture.OnResponseHead(Bytes(head + "\r\n\r\n"), int.Parse(head[9..12], System.Globalization.CultureInfo.InvariantCulture));
        capture.OnResponseBody(body ?? []);
        capture.OnEnded(null, null);
        return capture;
    }

    /// <summary>Characters as bytes, one each.</summary>
    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);
}
