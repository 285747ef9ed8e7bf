namespace Tunnel2.ProxyEntry.Access.Oidc;

/// <summary>The paths of a tunnel with a gate that the gate itself answers.</summary>
internal static class SignInPaths
{
    /// <summary>What all begin with.</summary>
    public const string Prefix = "/.tunnel2/";

    /// <summary>Begins a sign-in; <c>to</c> in the query says where it leads afterwards.</summary>
    public const string Login = Prefix + "login";

    /// <summary>Where the provider sends the visitor back to.</summary>
    public const string Callback = Prefix + "callback";

    /// <summary>Ends the session.</summary>
    public const string Logout = Prefix + "logout";

    /// <summary>The longest target that a sign-in leads back to. A longer one leads to the start page.</summary>
    public const int LongestTarget = 2_000;

    /// <summary>Whether the gate answers a target.</summary>
    public static bool IsOwn(ReadOnlySpan<byte> target) => target.StartsWith("/.tunnel2/"u8);

    /// <summary>A target on the same host to which a sign-in may lead; the start page in place of any other.</summary>
    public static string SafeTarget(string? target) =>
        target is ['/', ..] and not ['/', '/' or '\\', ..]
        && target.Length <= LongestTarget
        && !target.AsSpan().ContainsAnyExceptInRange('!', '~')
        && !target.Contains('\\', StringComparison.Ordinal)
        && !PathOf(target).StartsWith(Prefix, StringComparison.Ordinal)
            ? target
            : "/";

    /// <summary>The path that a browser makes of a target: it resolves <c>/./</c> and <c>/../</c> itself.</summary>
    private static string PathOf(string target) => new Uri("https://host" + target).AbsolutePath;
}
