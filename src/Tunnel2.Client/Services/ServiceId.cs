namespace Tunnel2.Client.Services;

/// <summary>Which service of this machine is meant. Immutable.</summary>
/// <param name="Instance">Its own part of the name; null: the one agent of this machine.</param>
/// <param name="IsOfUser">Whether it is a service of one user, not of the machine.</param>
internal sealed record ServiceId(string? Instance, bool IsOfUser)
{
    private const int Longest = 40;

    /// <summary>What service managers call it, such as <c>tunnel2-agent-web</c>.</summary>
    public string Name => Instance is null ? "tunnel2-agent" : $"tunnel2-agent-{Instance}";

    /// <summary>Whose it is, in a word.</summary>
    public string Scope => IsOfUser ? "user" : "system";

    /// <summary>What is wrong with an instance's name, or null. It becomes a part of file names and command lines.</summary>
    public static string? MistakeOf(string? instance) =>
        instance is null
        || (instance.Length is > 0 and <= Longest
            && char.IsAsciiLetterOrDigit(instance[0])
            && instance.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c == '-'))
            ? null
            : $"is not a service's name: 1 to {Longest} characters of a-z, 0-9 and -, not beginning with -";
}
