namespace Tunnel2.LoadTests.Running;

/// <summary>A run cannot begin; the message is for people.</summary>
internal sealed class LoadFailedException(string message) : Exception(message);
