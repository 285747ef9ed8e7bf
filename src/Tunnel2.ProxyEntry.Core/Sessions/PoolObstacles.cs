namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Why sessions of one owner cannot share a name, as a sentence for the agent. One node and a cluster say the same.</summary>
internal static class PoolObstacles
{
    /// <summary>The present ones have other terms, at another node.</summary>
    public const string OtherTerms =
        "The members of the pool have another token of the same agent, other access rules (logins, addresses, tokens, gate, policy, "
            + "webhooks), another kind of tunnel or another port; give all of them the same ones, a password as its hash.";

    /// <summary>Either the present ones have a pool, or the new one wants it.</summary>
    /// <param name="name">The name.</param>
    /// <param name="isPool">Whether the present ones have a pool.</param>
    public static string OtherKind(string name, bool isPool) => isPool
        ? $"Agents with --pool have the name '{name}'; start this one with --pool too, or stop them first."
        : $"An agent without --pool has the name '{name}'; stop it, and start it with --pool too.";
}
