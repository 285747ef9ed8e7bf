namespace Tunnel2.ProxyEntry.Access.Oidc;

/// <summary>What the log says about gates.</summary>
internal static partial class SignInLog
{
    [LoggerMessage(2082, LogLevel.Warning, "A sign-in at the gate {Gate} failed: {Failure}. There is at most one such line a second")]
    public static partial void SignInFailed(ILogger logger, string gate, string failure);
}
