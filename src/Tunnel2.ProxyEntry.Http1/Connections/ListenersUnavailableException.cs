namespace Tunnel2.ProxyEntry.Connections;

/// <summary>The listening sockets that were to be handed over cannot be had. The message is for whoever reads the log.</summary>
internal sealed class ListenersUnavailableException(string message, Exception? innerException = null)
    : IOException(message, innerException);
