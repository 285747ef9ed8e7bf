namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Why a name has no session that takes requests.</summary>
internal enum AbsenceKind
{
    /// <summary>This node has not seen it in the last 24 hours.</summary>
    NotSeen,

    /// <summary>Its agent was lost without a goodbye, so it will probably connect again soon.</summary>
    Lost,

    /// <summary>Its agent said goodbye: it was stopped, perhaps to be started again.</summary>
    SaidGoodbye,
}

/// <summary>Why and since when a name has no session.</summary>
/// <param name="Kind">Why.</param>
/// <param name="Since">A timestamp of the directory's <see cref="TimeProvider"/>; 0 for <see cref="AbsenceKind.NotSeen"/>.</param>
/// <param name="Owner">The owner for whom requests wait; null for <see cref="AbsenceKind.NotSeen"/>.</param>
internal readonly record struct NameAbsence(AbsenceKind Kind, long Since, AgentIdentity? Owner);
