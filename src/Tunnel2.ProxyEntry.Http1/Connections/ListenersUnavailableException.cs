namespace Tunnel2.ProxyEntry.Connections;

/// <summary>The listening sockets that should be handed over are not available. The message is for the log.</summary>
internal sealed class ListenersUnavailableException(string message, Exception? innerException = null)
    : IOException(message, innerException);
