namespace Tunnel2.FunctionalTests.Differential;

/// <summary>One end of a WebSocket, visitor or service, in one version of HTTP. What it sends is not framed: no reader looks.</summary>
internal abstract class UpgradeSide
{
    /// <summary>For a visitor: asks, and reads the answer's head.</summary>
    /// <returns>The status (101 is 200, as in HTTP/2), and the fields of the agreement.</returns>
    public virtual Task<(int Status, string? Protocol, string? Extensions)> OpenAsync(
        string? protocols = null, string? extensions = null) =>
        throw new NotSupportedException("Only a visitor opens.");

    /// <summary>For a service: agrees.</summary>
    /// <returns>The fields that were asked for.</returns>
    public virtual Task<(string? Protocols, string? Extensions)> AcceptAsync(string? protocol = null, string? extensions = null) =>
        throw new NotSupportedException("Only a service accepts.");

    /// <summary>For a service: 403 with the body "no".</summary>
    public virtual Task RefuseAsync() => throw new NotSupportedException("Only a service refuses.");

    /// <summary>For a visitor: the body of an answer that is no agreement.</summary>
    public virtual Task<string> ReadBodyAsync() => throw new NotSupportedException("Only a visitor reads an answer.");

    public abstract Task SendAsync(byte[] bytes, bool end);

    public abstract Task<byte[]> ReadAsync(int count);

    public abstract Task<byte[]> ReadToEndAsync();

    /// <summary>Ends it out of order.</summary>
    /// <param name="code">The code in HTTP/2.</param>
    public abstract Task BreakAsync(uint code);

    /// <summary>Waits for an end out of order.</summary>
    public abstract Task<string> ReadBreakAsync();

    protected static (string Name, string Value)[] Fields(string? protocol, string? extensions)
    {
        List<(string, string)> fields = [];
        if (protocol is not null)
        {
            fields.Add(("sec-websocket-protocol", protocol));
        }

        if (extensions is not null)
        {
            fields.Add(("sec-websocket-extensions", extensions));
        }

        return [.. fields];
    }
}
