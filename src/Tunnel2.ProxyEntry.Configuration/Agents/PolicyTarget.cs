namespace Tunnel2.ProxyEntry.Agents;

/// <summary>What a policy that the server keeps is for.</summary>
internal enum PolicyScope
{
    /// <summary>An agent: the tunnels of all its tokens, of the settings and kept ones.</summary>
    Agent,

    /// <summary>A token that the server keeps: the tunnels that it let in.</summary>
    Token,

    /// <summary>A name: the session that has it, of any agent.</summary>
    Name,
}

/// <summary>For which tunnels a policy is kept. Immutable.</summary>
/// <param name="Scope">Of what <paramref name="Name"/> is the name.</param>
/// <param name="Name">The id of an agent in lower case, or the name of a token or of a session.</param>
internal readonly record struct PolicyTarget(PolicyScope Scope, string Name)
{
    /// <summary>As logs have it, such as <c>token ci</c>.</summary>
    public override string ToString() => $"{Scope.ToString().ToLowerInvariant()} {Name}";
}
