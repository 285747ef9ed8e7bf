namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>What the log says about tokens. The pauses between fetches bound the number of lines.</summary>
internal static partial class BearerLog
{
    [LoggerMessage(2080, LogLevel.Information, "The keys of the issuer {Issuer} were fetched: {Keys} of them check signatures")]
    public static partial void KeysFetched(ILogger logger, string issuer, int keys);

    [LoggerMessage(
        2081, LogLevel.Warning, "The keys of the issuer {Issuer} cannot be fetched: {Reason} (failure {Failures} in a row)")]
    public static partial void KeysNotFetched(ILogger logger, string issuer, string reason, int failures);
}
