namespace Tunnel2.ProxyEntry.Errors;

/// <summary>An answer that any front can send. Immutable: many requests share one answer, so no code may write into the body.</summary>
/// <param name="Status">The status code.</param>
/// <param name="Headers">All fields except Content-Length, which is the length of the body (for HEAD too).</param>
/// <param name="Body">The body, not to be sent for HEAD.</param>
internal sealed record ErrorResponse(int Status, IReadOnlyList<KeyValuePair<string, string>> Headers, ReadOnlyMemory<byte> Body);
