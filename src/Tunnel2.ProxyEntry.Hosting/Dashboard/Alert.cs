namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>Something that a person should look at. The page makes the sentence of it. Immutable.</summary>
/// <param name="Kind">
/// <c>failing</c>, <c>offline</c>, <c>certificate</c>, <c>certificate-refused</c>, <c>loop</c>, <c>memory</c>, <c>hub</c>, <c>missed</c> or
/// <c>not-ready</c>.
/// </param>
/// <param name="Since">When it began, ms since 1970.</param>
internal sealed record Alert(string Kind, long Since)
{
    /// <summary>
    /// The session, whom a certificate is shown to, or the file or name of one that is refused; null for the whole node.
    /// </summary>
    public string? Subject { get; init; }

    /// <summary>Where most requests fail: <c>entry</c>, <c>uplink</c> or <c>backend</c>.</summary>
    public string? Leg { get; init; }

    /// <summary>The most frequent error's code.</summary>
    public string? Code { get; init; }

    /// <summary>A share, 0 to 1, where there is one.</summary>
    public double? Share { get; init; }

    /// <summary>A number: of records, of certificates, of a loop; or a time, ms since 1970.</summary>
    public long? Value { get; init; }

    /// <summary>A few words of this server, of a certificate, or of an authority.</summary>
    public string? Text { get; init; }
}
