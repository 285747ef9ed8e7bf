namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>The keys of an issuer could not be fetched. The message is for people.</summary>
internal sealed class KeyFetchException : Exception
{
    public KeyFetchException(string message, Exception? cause = null)
        : base(message, cause)
    {
    }
}
