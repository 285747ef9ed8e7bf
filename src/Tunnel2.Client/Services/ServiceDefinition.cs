namespace Tunnel2.Client.Services;

/// <summary>A service as it is to be installed. Immutable; nothing in it is a secret except <see cref="Token"/>.</summary>
/// <param name="Id">Which one.</param>
/// <param name="Program">The program, and what comes before the agent's own words.</param>
/// <param name="ConfigFile">The whole path of the file of tunnels.</param>
internal sealed record ServiceDefinition(ServiceId Id, IReadOnlyList<string> Program, string ConfigFile)
{
    /// <summary>Variables of the process, none of them secret.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Variables { get; init; } = [];

    /// <summary>The token to keep in an owner-only file; null: none.</summary>
    public string? Token { get; init; }

    /// <summary>The user that it runs as; null: the manager's least privileged one, for a user's service that user.</summary>
    public string? RunAs { get; init; }

    /// <summary>Whether another user than its owner may read the file of tunnels.</summary>
    public bool IsConfigReadable { get; init; } = true;

    /// <summary>Hides the token.</summary>
    public override string ToString() => $"{nameof(ServiceDefinition)} of {Id.Name}";
}
