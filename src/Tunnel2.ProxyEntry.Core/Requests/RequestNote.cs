namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What somebody who looks at requests keeps of one while it is under way. It belongs to the request's object and is used again by its next
/// requests: <see cref="ForwardedRequest.NoteOf"/> finds it only for the request that it was taken for. Most requests have none.
/// </summary>
internal abstract class RequestNote
{
    /// <summary>The next one of the same object.</summary>
    internal RequestNote? Next { get; set; }

    /// <summary>Which use of the object it was taken for; see <see cref="ForwardedRequest.Use"/>.</summary>
    internal int Use { get; set; }
}
