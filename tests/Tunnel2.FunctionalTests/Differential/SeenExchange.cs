namespace Tunnel2.FunctionalTests.Differential;

/// <summary>Both messages of an exchange; a request that was answered early need not have arrived whole, and is not looked at.</summary>
internal sealed record SeenExchange(SeenMessage? Request, SeenMessage Response);
