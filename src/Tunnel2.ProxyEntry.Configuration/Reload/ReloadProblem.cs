namespace Tunnel2.ProxyEntry.Reload;

/// <summary>Why changed files were not accepted.</summary>
/// <param name="Key">The setting or file; empty for all of them.</param>
/// <param name="Reason">The mistake, in one line.</param>
internal sealed record ReloadProblem(string Key, string Reason);
