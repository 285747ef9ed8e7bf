namespace Tunnel2.ProxyEntry.Admin;

/// <summary>Why a body was not read. Immutable.</summary>
/// <param name="Status">The status of the answer.</param>
/// <param name="Code">The stable name of the error.</param>
/// <param name="Detail">A sentence for people, without secrets.</param>
/// <param name="EndsConnection">Whether the connection ends: the rest of the body may still come.</param>
internal sealed record AdminBodyProblem(int Status, string Code, string Detail, bool EndsConnection);
