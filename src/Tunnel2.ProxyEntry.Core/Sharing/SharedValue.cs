namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>A document that a node has read.</summary>
/// <param name="Key">Its key.</param>
/// <param name="Value">What is in it; null: it cannot be used.</param>
/// <param name="Touched">When it was last used; null: not known.</param>
/// <param name="Reason">Why it cannot be used.</param>
internal sealed record SharedValue<T>(string Key, T? Value, DateTimeOffset? Touched, string Reason = "") where T : class;
