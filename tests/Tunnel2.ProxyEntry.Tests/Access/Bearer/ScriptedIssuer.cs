using System.Net;
using System.Text;
using Tunnel2.TestUtilities.Tokens;

namespace Tunnel2.ProxyEntry.Tests.Access.Bearer;

/// <summary>An issuer in memory: answers as the test says, and counts.</summary>
internal sealed class ScriptedIssuer : HttpMessageHandler
{
    private int _calls;

    /// <summary>The keys that it publishes.</summary>
    public string Keys { get; set; } = TestSigningKey.ToSet();

    /// <summary>Answers in place of the keys; null: 200 with <see cref="Keys"/>.</summary>
    public Func<HttpRequestMessage, CancellationToken, Task<HttpResponseMessage>>? Answer { get; set; }

    /// <summary>How many requests there were.</summary>
    public int Calls => Volatile.Read(ref _calls);

    public static HttpResponseMessage Json(string text) =>
        new(HttpStatusCode.OK) { Content = new StringContent(text, Encoding.UTF8, "application/json") };

    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
    {
        Interlocked.Increment(ref _calls);
        return Answer is { } answer ? answer(request, cancellationToken) : Task.FromResult(Json(Keys));
    }
}
