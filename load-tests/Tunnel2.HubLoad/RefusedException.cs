namespace Tunnel2.HubLoad;

/// <summary>The server refused a connection before the upgrade.</summary>
internal sealed class RefusedException(int status, string answer) : IOException($"refused: {status} {answer.Trim()}")
{
    /// <summary>The status.</summary>
    public int Status => status;

    /// <summary>The guard's word for the limit that was reached.</summary>
    public string Reason =>
        status == 429 ? "AddressRate" : answer.IndexOf('(') is > 0 and var at && answer.IndexOf(')') is var end && end > at
            ? answer[(at + 1)..end]
            : "unknown";
}
