using System.Net;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.TestUtilities;
using Tunnel2.TestUtilities.Tokens;

namespace Tunnel2.ProxyEntry.Tests.Access.Bearer;

/// <summary>Issuers that lie, stall or lead elsewhere.</summary>
public sealed class KeyFetchTests : IDisposable
{
    private static readonly TestSigningKey _key = TestSigningKey.Rsa("r");
    private static readonly string _keys = TestSigningKey.ToSet(_key.ToJwk());

    private readonly ManualTimeProvider _time = new();
    private readonly ScriptedIssuer _issuer = new() { Keys = _keys };
    private readonly KeyFetch _fetch;

    public KeyFetchTests() => _fetch = new KeyFetch(_issuer, _time);

    public void Dispose() => _fetch.Dispose();

    [Fact]
    public async Task The_issuer_says_where_its_keys_are()
    {
        var asked = new List<string>();
        _issuer.Answer = (request, _) =>
        {
            asked.Add(request.RequestUri!.AbsoluteUri);
            return Answer(asked.Count == 1
                ? """{"issuer":"https://id.example/","jwks_uri":"https://keys.example/all"}"""
                : _keys);
        };
        Assert.Equal(1, (await _fetch.FetchAsync(new TokenIssuer("https://id.example/", null))).Count);
        Assert.Equal(["https://id.example/.well-known/openid-configuration", "https://keys.example/all"], asked);
    }

    [Theory]
    [InlineData("""{"issuer":"https://other.example","jwks_uri":"https://id.example/keys"}""", "of another issuer")]
    [InlineData("""{"issuer":"https://id.example","jwks_uri":"http://id.example/keys"}""", "no https address")]
    [InlineData("""{"issuer":"https://id.example","jwks_uri":"http://127.0.0.1/keys"}""", "no https address")]
    [InlineData("""{"issuer":"https://id.example","jwks_uri":"file:///etc/passwd"}""", "no https address")]
    [InlineData("""{"issuer":"https://id.example","jwks_uri":7}""", "no https address")]
    [InlineData("""{"issuer":"https://id.example"}""", "no https address")]
    [InlineData("[]", "of another issuer")]
    [InlineData("<html>", "not JSON")]
    public async Task A_discovery_document_that_leads_elsewhere_is_refused(string document, string reason)
    {
        _issuer.Answer = (_, _) => Answer(document);
        await ExpectAsync(new TokenIssuer("https://id.example", null), reason);
        Assert.Equal(1, _issuer.Calls);
    }

    [Theory]
    [InlineData("http://id.example/keys")]
    [InlineData("http://127.0.0.1/latest/meta-data")]
    [InlineData("ftp://id.example/keys")]
    [InlineData("//:80")]
    [InlineData("//a:99999/")]
    [InlineData("https://user:password@id.example/keys")]
    public async Task A_redirect_leads_to_https_only(string location)
    {
        _issuer.Answer = (_, _) => Redirect(location);
        await ExpectAsync("not https");
        Assert.Equal(1, _issuer.Calls);
    }

    [Fact]
    public async Task Redirects_are_bounded()
    {
        _issuer.Answer = (_, _) => Redirect("/again");
        await ExpectAsync("more than 3 redirects");
        Assert.Equal(1 + KeyFetch.MostRedirects, _issuer.Calls);
        _issuer.Answer = (request, _) => request.RequestUri!.AbsolutePath == "/keys" ? Redirect("https://cdn.example/k") : Answer(_keys);
        Assert.Equal(1, (await _fetch.FetchAsync(Issuer())).Count);
    }

    [Fact]
    public async Task A_document_without_an_end_is_cut()
    {
        _issuer.Answer = static (_, _) => Task.FromResult(
            new HttpResponseMessage(HttpStatusCode.OK) { Content = new StreamContent(new EndlessStream()) });
        await ExpectAsync("larger than 256 KiB");
    }

    [Fact]
    public async Task An_issuer_that_stalls_is_given_up()
    {
        var asked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _issuer.Answer = async (_, cancellationToken) =>
        {
            var never = new TaskCompletionSource<HttpResponseMessage>();
            using var given = cancellationToken.Register(() => never.SetCanceled(cancellationToken));
            asked.SetResult();
            return await never.Task;
        };
        var fetch = Assert.ThrowsAsync<KeyFetchException>(() => _fetch.FetchAsync(Issuer()));
        await asked.Task;
        _time.Advance(KeyFetch.Limit);
        Assert.Contains("within 10 s", (await fetch).Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "not a JSON Web Key Set")]
    [InlineData("<html>", "not a JSON Web Key Set")]
    [InlineData("[]", "not a JSON Web Key Set")]
    [InlineData("""{"keys":{}}""", "not a JSON Web Key Set")]
    [InlineData("""{"keys":["RSA"]}""", "none of the keys")]
    [InlineData("{}", "none of the keys")]
    [InlineData("""{"keys":[]}""", "none of the keys")]
    [InlineData("""{"keys":[{"kty":"oct","k":"AAAA"}]}""", "none of the keys")]
    [InlineData("""{"keys":[{"kty":"RSA","n":"!","e":"AQAB"}]}""", "none of the keys")]
    [InlineData("""{"keys":[{"kty":"EC","crv":"P-256"}]}""", "none of the keys")]
    public async Task A_document_without_keys_is_refused(string document, string reason)
    {
        _issuer.Keys = document;
        await ExpectAsync(reason);
    }

    [Fact]
    public async Task Too_many_keys_are_refused()
    {
        _issuer.Keys = TestSigningKey.ToSet([.. Enumerable.Repeat(_key.ToJwk(), 101)]);
        await ExpectAsync("more than 100 keys");
    }

    [Theory]
    [InlineData(404)]
    [InlineData(500)]
    [InlineData(204)]
    public async Task Another_status_is_no_document(int status)
    {
        _issuer.Answer = (_, _) => Task.FromResult(new HttpResponseMessage((HttpStatusCode)status));
        await ExpectAsync($"status {status}");
    }

    private static TokenIssuer Issuer() => new("https://id.example", new Uri("https://id.example/keys"));

    private static Task<HttpResponseMessage> Answer(string text) => Task.FromResult(ScriptedIssuer.Json(text));

    private static Task<HttpResponseMessage> Redirect(string location)
    {
        var answer = new HttpResponseMessage(HttpStatusCode.Found);
        answer.Headers.Location = new Uri(location, UriKind.RelativeOrAbsolute);
        return Task.FromResult(answer);
    }

    private Task ExpectAsync(string reason) => ExpectAsync(Issuer(), reason);

    private async Task ExpectAsync(TokenIssuer issuer, string reason)
    {
        var failure = await Assert.ThrowsAsync<KeyFetchException>(() => _fetch.FetchAsync(issuer));
        Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
    }

    private sealed class EndlessStream : MemoryStream
    {
        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            buffer.Span.Fill((byte)' ');
            return ValueTask.FromResult(buffer.Length);
        }
    }
}
