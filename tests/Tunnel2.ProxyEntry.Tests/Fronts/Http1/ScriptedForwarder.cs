using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

/// <summary>A forwarder that does with each request what a test says, and with one that the front refuses what the real one does.</summary>
internal sealed class ScriptedForwarder(Func<VisitorExchange, ForwardedRequest, ValueTask> script) : IForwarder
{
    public List<ProxyError> Refused { get; } = [];

    public ValueTask ForwardAsync(VisitorExchange exchange, ForwardedRequest request)
    {
        request.Begin(TimeProvider.System);
        if (exchange.Fault is { } fault)
        {
            Refused.Add(fault);
            return new ValueTask(exchange.WriteErrorAsync(fault, default));
        }

        return script(exchange, request);
    }

    /// <summary>The request block as text: the first line, then a line per field.</summary>
    public static string Describe(VisitorExchange exchange)
    {
        var writer = new HeaderBlockWriter(new byte[ProtocolLimits.MaxHeaderBlockLength]);
        exchange.WriteRequestBlock(ref writer);
        Assert.False(writer.Overflowed);
        var bytes = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var second = new HeaderBlockWriter(bytes);
        exchange.WriteRequestBlock(ref second);
        HeaderBlock.TryRead(bytes.AsSpan(0, second.Complete()), out var block);
        var text = new StringBuilder();
        text.Append(Encoding.Latin1.GetString(block.Method)).Append(' ').Append(Encoding.Latin1.GetString(block.Scheme)).Append(' ');
        text.Append(Encoding.Latin1.GetString(block.Authority)).Append(' ').Append(Encoding.Latin1.GetString(block.Target)).Append('\n');
        foreach (var field in block.Fields)
        {
            text.Append(Encoding.Latin1.GetString(field.Name)).Append(": ").Append(Encoding.Latin1.GetString(field.Value)).Append('\n');
        }

        return text.ToString();
    }

    /// <summary>Reads a request's body to its end.</summary>
    public static async Task<string> ReadBodyAsync(VisitorExchange exchange)
    {
        var text = new StringBuilder();
        while (true)
        {
            var read = await exchange.RequestBody.ReadAsync();
            foreach (var piece in read.Buffer)
            {
                text.Append(Encoding.Latin1.GetString(piece.Span));
            }

            exchange.RequestBody.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                return text.ToString();
            }
        }
    }

    /// <summary>Begins a response.</summary>
    public static bool Start(VisitorExchange exchange, int status, params (string Name, string Value)[] fields)
    {
        HeaderBlock.TryRead(ResponseBlock(status, fields), out var block);
        return ResponseFacts.TryRead(block, out var facts) && exchange.TryStartResponse(block, facts.HasLength);
    }

    /// <summary>Writes an interim response.</summary>
    public static bool Interim(VisitorExchange exchange, int status, params (string Name, string Value)[] fields)
    {
        HeaderBlock.TryRead(ResponseBlock(status, fields), out var block);
        return exchange.WriteInterim(block);
    }

    /// <summary>Sets trailers.</summary>
    public static void Trailers(VisitorExchange exchange, params (string Name, string Value)[] fields)
    {
        var bytes = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginTrailers();
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        HeaderBlock.TryRead(bytes.AsSpan(0, writer.Complete()), out var block);
        exchange.SendTrailers(block);
    }

    /// <summary>Answers 200 with a text.</summary>
    public static void Answer(VisitorExchange exchange, string text)
    {
        Assert.True(Start(exchange, 200, ("Content-Length", $"{text.Length}")));
        exchange.WriteBody(Encoding.Latin1.GetBytes(text));
        exchange.CompleteResponse();
    }

    public static byte[] ResponseBlock(int status, params (string Name, string Value)[] fields)
    {
        var bytes = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginResponse(HeaderBlockFlags.None, status, "Fine"u8);
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        return bytes[..writer.Complete()];
    }
}
