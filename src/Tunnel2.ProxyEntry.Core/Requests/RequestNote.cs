namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What an observer keeps of one running request. It belongs to the request's object and is reused by its next requests;
/// <see cref="ForwardedRequest.NoteOf"/> finds it only for the request that it was made for. Most requests have none.
/// </summary>
internal abstract class RequestNote
{
    /// <summary>The next note of the same object.</summary>
    internal RequestNote? Next { get; set; }

    /// <summary>The use of the object that it was made for; see <see cref="ForwardedRequest.Use"/>.</summary>
    internal int Use { get; set; }
}
