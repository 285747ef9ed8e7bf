using System.Net;
using Tunnel2.Policies.Paths;

namespace Tunnel2.Policies.Tables;

/// <summary>What rows are compared with: a visitor's request as the service will see it. Used by one thread at a time.</summary>
internal abstract class PolicyRequest
{
    /// <summary>The method.</summary>
    public abstract ReadOnlySpan<byte> Method { get; }

    /// <summary>The path, in all its readings.</summary>
    public abstract RequestPath Path { get; }

    /// <summary>The visitor's address; null: it is not known.</summary>
    public abstract IPAddress? Address { get; }

    /// <summary>The visitor's country, two letters; null: it is not known.</summary>
    public abstract string? Country { get; }

    /// <summary>Whether there are several words about the visitor's country. The visitor may have said one of them.</summary>
    public virtual bool IsCountryInDoubt => false;

    /// <summary>The values of a field, one for each of its lines.</summary>
    /// <param name="name">The field's name, in any case.</param>
    /// <param name="withLookalikes">
    /// Whether fields count too that many services take for this one, such as <c>X_Debug</c> for <c>X-Debug</c>.
    /// </param>
    public abstract string[] Values(string name, bool withLookalikes);
}
