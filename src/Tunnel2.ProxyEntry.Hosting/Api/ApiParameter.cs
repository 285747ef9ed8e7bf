namespace Tunnel2.ProxyEntry.Api;

/// <summary>A parameter of a query. Immutable.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Type">Its type in the document: <c>string</c>, <c>integer</c> or <c>boolean</c>.</param>
/// <param name="Words">What it is, for the document.</param>
internal sealed record ApiParameter(string Name, string Type, string Words);
