//! The download's guarantees hold whatever the mirrors do. Here, the mirrors are local servers.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use digits::download_directory;
use mnist_download::{
    DownloadError, DownloadEvent, DownloadOutcome, Downloader, MNIST_FILES, MNIST_MIRRORS, MirrorFailure, RemoteFile,
};
use tempfile::TempDir;
use test_support::{Need, skip};

const CONTENT: &[u8] = b"sixteen numbers.";
/// SHA-256 of `CONTENT`.
const FILE: RemoteFile =
    RemoteFile { name: "numbers.gz", sha256: "93b4459be52f5ab985fe70488d488a298fba4803761cc3c282f5d0367ab3a6d5" };
const OTHER_CONTENT: &[u8] = b"other numbers";
/// SHA-256 of `OTHER_CONTENT`, in uppercase, which counts as the same digits.
const OTHER_FILE: RemoteFile =
    RemoteFile { name: "other.gz", sha256: "F691981C2270D318EB4A387F597CF27AAF327DEDE16B929C6F65B292F354F7C9" };

/// A web server on a free local port. It lives until the test process ends.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request in its own thread. `respond` writes the answer for the requested path.
    fn new(respond: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/data/", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let respond = Arc::new(respond);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (counter, respond) = (Arc::clone(&counter), Arc::clone(&respond));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    if let Some(path) = requested_path(&stream) {
                        counter.fetch_add(1, Ordering::SeqCst);
                        respond(&path, &mut stream);
                    }
                });
            }
        });
        Self { url, requests }
    }

    /// Serves `CONTENT` and `OTHER_CONTENT` under their names.
    fn good() -> Self {
        Self::new(|path, stream| match path {
            "/data/numbers.gz" => send(stream, "200 OK", CONTENT),
            "/data/other.gz" => send(stream, "200 OK", OTHER_CONTENT),
            _ => send(stream, "404 Not Found", b""),
        })
    }

    fn missing() -> Self {
        Self::new(|_, stream| send(stream, "404 Not Found", b"<html>no such file</html>"))
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Reads the head of a request; `None` if the client closed the connection without one.
fn requested_path(stream: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_string();
    lines.find(|line| line.as_ref().is_ok_and(String::is_empty))?.ok()?;
    Some(path)
}

/// Writes a complete answer. It is not an error if the client has closed the connection.
fn send(stream: &mut TcpStream, status: &str, body: &[u8]) {
    send_head(stream, status, &format!("Content-Length: {}\r\n", body.len()));
    let _ = stream.write_all(body);
}

fn send_head(stream: &mut TcpStream, status: &str, headers: &str) {
    let _ = write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
}

/// Blocks until the client closes the connection.
fn wait_for_hang_up(stream: &mut TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

fn downloader(mirrors: &[&Server]) -> Downloader {
    Downloader {
        mirrors: mirrors.iter().map(|server| server.url.clone()).collect(),
        connect_timeout: Duration::from_secs(60),
        stall_timeout: Duration::from_secs(60),
        size_limit: 1024 * 1024,
        proxy_from_environment: false,
    }
}

fn fetch(downloader: &Downloader, directory: &Path) -> Result<Vec<DownloadOutcome>, DownloadError> {
    downloader.fetch_all(&[FILE], directory, &mut |_, _| {})
}

/// All names in a directory, including hidden ones.
fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn assert_only_the_good_file(directory: &Path) {
    assert_eq!(names_in(directory), [FILE.name]);
    assert_eq!(fs::read(directory.join(FILE.name)).unwrap(), CONTENT);
}

/// Downloads from one bad mirror and returns that mirror's failure.
///
/// Also checks what holds for every failure: the message is one line that names the file, the
/// mirror and what to do; nothing is left in the directory; an existing file is untouched; and a
/// good second mirror is used.
fn failure_of(bad: &Downloader) -> MirrorFailure {
    let empty = TempDir::new().unwrap();
    let error = fetch(bad, empty.path()).unwrap_err();
    let message = error.to_string();
    for part in [FILE.name, &bad.mirrors[0], "try again later", empty.path().to_str().unwrap()] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(!message.contains('\n'), "more than one line: {message:?}");
    assert!(names_in(empty.path()).is_empty(), "{:?}", names_in(empty.path()));

    let occupied = TempDir::new().unwrap();
    fs::write(occupied.path().join(FILE.name), "old").unwrap();
    // The temporary file of a killed download.
    fs::write(occupied.path().join(format!(".{}.4000000.1.tmp", FILE.name)), "half").unwrap();
    fetch(bad, occupied.path()).unwrap_err();
    assert_eq!(names_in(occupied.path()), [FILE.name]);
    assert_eq!(fs::read(occupied.path().join(FILE.name)).unwrap(), b"old");

    let mut with_good_second = bad.clone();
    // On a busy machine, a good mirror may also stall if the timeout is short. Then it is asked again.
    with_good_second.mirrors.extend(vec![Server::good().url; 100]);
    assert_eq!(fetch(&with_good_second, empty.path()).unwrap(), [DownloadOutcome::Downloaded]);
    assert_only_the_good_file(empty.path());

    match error {
        DownloadError::AllMirrorsFailed { mut attempts, .. } => attempts.remove(0).failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn part1_download_fetches_all_files_into_a_new_directory() {
    let server = Server::good();
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("data/mnist");
    let outcomes = downloader(&[&server]).fetch_all(&[FILE, OTHER_FILE], &directory, &mut |_, _| {}).unwrap();
    assert_eq!(outcomes, [DownloadOutcome::Downloaded; 2]);
    assert_eq!(names_in(&directory), ["numbers.gz", "other.gz"]);
    assert_eq!(fs::read(directory.join("numbers.gz")).unwrap(), CONTENT);
    assert_eq!(fs::read(directory.join("other.gz")).unwrap(), OTHER_CONTENT);
}

#[test]
fn part1_download_reports_its_events_in_order() {
    let (missing, good) = (Server::missing(), Server::good());
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join(FILE.name), "old").unwrap();
    let mut events = Vec::new();
    let mut progress = |file: &RemoteFile, event: DownloadEvent<'_>| {
        assert_eq!(*file, FILE);
        events.push(match event {
            DownloadEvent::AlreadyPresent => "present".to_string(),
            DownloadEvent::WrongContentPresent { .. } => "wrong".to_string(),
            DownloadEvent::Started { total, .. } => format!("started {total:?}"),
            DownloadEvent::Received { received, .. } if received < 16 => return,
            DownloadEvent::Received { received, total } => format!("received {received} of {total:?}"),
            DownloadEvent::MirrorFailed(attempt) => format!("failed: {}", attempt.failure),
            DownloadEvent::Finished { received } => format!("finished {received}"),
        });
    };
    let downloader = downloader(&[&missing, &good]);
    downloader.fetch_all(&[FILE], directory.path(), &mut progress).unwrap();
    downloader.fetch_all(&[FILE], directory.path(), &mut progress).unwrap();
    let expected =
        ["wrong", "failed: HTTP status 404", "started Some(16)", "received 16 of Some(16)", "finished 16", "present"];
    assert_eq!(events, expected);
}

#[test]
fn part1_download_keeps_a_good_file_without_a_request() {
    let server = Server::good();
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join(FILE.name), CONTENT).unwrap();
    assert_eq!(fetch(&downloader(&[&server]), directory.path()).unwrap(), [DownloadOutcome::AlreadyPresent]);
    assert_eq!(server.requests(), 0);
    assert_only_the_good_file(directory.path());
}

#[test]
fn part1_download_replaces_a_wrong_file() {
    let server = Server::good();
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join(FILE.name), "old and longer than the new one").unwrap();
    assert_eq!(fetch(&downloader(&[&server]), directory.path()).unwrap(), [DownloadOutcome::Replaced]);
    assert_eq!(server.requests(), 1);
    assert_only_the_good_file(directory.path());
}

#[test]
fn part1_download_asks_the_second_mirror_only_after_the_first() {
    let (first, second) = (Server::good(), Server::good());
    let directory = TempDir::new().unwrap();
    fetch(&downloader(&[&first, &second]), directory.path()).unwrap();
    assert_eq!((first.requests(), second.requests()), (1, 0));
}

#[test]
fn part1_download_follows_a_redirect() {
    let good = Server::good();
    let location = format!("Location: {}{}\r\nContent-Length: 0\r\n", good.url, FILE.name);
    let server = Server::new(move |_, stream| send_head(stream, "302 Found", &location));
    let directory = TempDir::new().unwrap();
    assert_eq!(fetch(&downloader(&[&server]), directory.path()).unwrap(), [DownloadOutcome::Downloaded]);
    assert_only_the_good_file(directory.path());
}

#[test]
fn part1_download_error_names_the_file_and_every_mirror() {
    let (missing, broken) = (Server::missing(), Server::new(|_, stream| send(stream, "503 Service Unavailable", b"")));
    let directory = TempDir::new().unwrap();
    let error = fetch(&downloader(&[&missing, &broken]), directory.path()).unwrap_err();
    let expected = format!(
        "cannot download numbers.gz: {} (HTTP status 404), {} (HTTP status 503); \
         try again later, or put the file into {} by hand",
        missing.url,
        broken.url,
        directory.path().display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!((missing.requests(), broken.requests()), (1, 1));
}

#[test]
fn part1_download_keeps_the_files_before_a_failure() {
    let server = Server::new(|path, stream| match path {
        "/data/numbers.gz" => send(stream, "200 OK", CONTENT),
        _ => send(stream, "404 Not Found", b""),
    });
    let directory = TempDir::new().unwrap();
    let error = downloader(&[&server]).fetch_all(&[FILE, OTHER_FILE], directory.path(), &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, DownloadError::AllMirrorsFailed { name: "other.gz", .. }), "{error:?}");
    assert_only_the_good_file(directory.path());
}

#[test]
fn part1_download_survives_a_missing_file() {
    let server = Server::missing();
    let failure = failure_of(&downloader(&[&server]));
    assert!(matches!(failure, MirrorFailure::HttpStatus(404)), "{failure:?}");
}

#[test]
fn part1_download_survives_a_refused_connection() {
    // A free port could become another test's server; port 1 has no listener.
    let url = "http://127.0.0.1:1/".to_string();
    let failure = failure_of(&Downloader { mirrors: vec![url], ..downloader(&[]) });
    assert!(matches!(failure, MirrorFailure::Request(_)), "{failure:?}");
    assert!(failure.to_string().contains("refused"), "{failure}");
}

#[test]
fn part1_download_survives_an_invalid_address() {
    let failure = failure_of(&Downloader { mirrors: vec!["no address".into()], ..downloader(&[]) });
    assert!(matches!(failure, MirrorFailure::Request(_)), "{failure:?}");
}

#[test]
fn part1_download_survives_a_cut_off_body() {
    let server = Server::new(|_, stream| {
        send_head(stream, "200 OK", "Content-Length: 16\r\n");
        let _ = stream.write_all(&CONTENT[..7]);
    });
    let failure = failure_of(&downloader(&[&server]));
    assert!(matches!(failure, MirrorFailure::CutOff { received: 7, total: Some(16) }), "{failure:?}");
    assert_eq!(failure.to_string(), "cut off after 7 of 16 bytes");
}

#[test]
fn part1_download_survives_a_cut_off_chunked_body() {
    let server = Server::new(|_, stream| {
        send_head(stream, "200 OK", "Transfer-Encoding: chunked\r\n");
        let _ = stream.write_all(b"10\r\nsixteen");
    });
    let failure = failure_of(&downloader(&[&server]));
    assert!(matches!(failure, MirrorFailure::CutOff { received: 7, total: None }), "{failure:?}");
}

#[test]
fn part1_download_survives_wrong_content() {
    let server = Server::new(|_, stream| send(stream, "200 OK", OTHER_CONTENT));
    match failure_of(&downloader(&[&server])) {
        MirrorFailure::WrongContent { found, expected } => {
            assert!(found.eq_ignore_ascii_case(OTHER_FILE.sha256), "{found}");
            assert_eq!(expected, FILE.sha256);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn part1_download_survives_a_body_beyond_the_limit() {
    let server = Server::new(|_, stream| {
        send_head(stream, "200 OK", "");
        // Ends at 8 times the limit, so a broken limit does not fill the disk.
        for _ in 0..128 {
            if stream.write_all(&[0; 65_536]).is_err() {
                return;
            }
        }
    });
    let failure = failure_of(&downloader(&[&server]));
    assert!(matches!(failure, MirrorFailure::TooLarge { limit: 1_048_576 }), "{failure:?}");
}

#[test]
fn part1_download_rejects_a_stated_size_beyond_the_limit_unread() {
    let server = Server::new(|_, stream| {
        send_head(stream, "200 OK", "Content-Length: 1048577\r\n");
        wait_for_hang_up(stream);
    });
    // If it waited for the body, it would report a stall instead.
    let failure = failure_of(&downloader(&[&server]));
    assert!(matches!(failure, MirrorFailure::TooLarge { limit: 1_048_576 }), "{failure:?}");
}

#[test]
fn part1_download_gives_up_a_stalled_body() {
    let server = Server::new(|_, stream| {
        send_head(stream, "200 OK", "Content-Length: 16\r\n");
        let _ = stream.write_all(&CONTENT[..7]);
        wait_for_hang_up(stream);
    });
    assert_stalls(&server);
}

#[test]
fn part1_download_gives_up_a_silent_server() {
    assert_stalls(&Server::new(|_, stream| wait_for_hang_up(stream)));
}

/// `failure_of` makes three requests to the server; each ends after the stall timeout, not before.
fn assert_stalls(server: &Server) {
    let stall_timeout = Duration::from_millis(200);
    let start = Instant::now();
    let failure = failure_of(&Downloader { stall_timeout, ..downloader(&[server]) });
    let elapsed = start.elapsed();
    assert!(matches!(failure, MirrorFailure::Stalled(waited) if waited == stall_timeout));
    assert!(elapsed >= 3 * stall_timeout, "gave up after {elapsed:?}");
    println!("three requests took {elapsed:?}");
}

/// The longest time between two events, up to now.
struct Gaps(Mutex<(Instant, Duration)>);

impl Gaps {
    fn new() -> Self {
        Self(Mutex::new((Instant::now(), Duration::ZERO)))
    }

    /// Records an event.
    fn note(&self) -> Duration {
        let (last, longest) = &mut *self.0.lock().unwrap();
        *longest = last.elapsed().max(*longest);
        *last = Instant::now();
        *longest
    }

    fn begin_again(&self) {
        *self.0.lock().unwrap() = (Instant::now(), Duration::ZERO);
    }
}

/// The whole body takes longer than the stall timeout, but no gap does.
///
/// A busy machine may cause such a gap. Both sides measure their gaps, and a download that fails
/// because of one is repeated.
#[test]
fn part1_download_lets_a_slow_but_steady_server_finish() {
    let stall_timeout = Duration::from_secs(1);
    let gaps = Arc::new([Gaps::new(), Gaps::new()]);
    let of_server = Arc::clone(&gaps);
    let server = Server::new(move |_, stream| {
        send_head(stream, "200 OK", "Content-Length: 16\r\n");
        for byte in CONTENT {
            of_server[0].note();
            thread::sleep(Duration::from_millis(80));
            let _ = stream.write_all(&[*byte]);
        }
    });
    let directory = TempDir::new().unwrap();
    for _ in 0..100 {
        gaps.iter().for_each(Gaps::begin_again);
        let start = Instant::now();
        let mut progress = |_: &RemoteFile, _: DownloadEvent<'_>| {
            gaps[1].note();
        };
        let downloader = Downloader { stall_timeout, ..downloader(&[&server]) };
        match downloader.fetch_all(&[FILE], directory.path(), &mut progress) {
            Ok(_) => {
                assert!(start.elapsed() > stall_timeout, "too fast for this test: {:?}", start.elapsed());
                return assert_only_the_good_file(directory.path());
            }
            Err(error) => {
                let longest = gaps.iter().map(Gaps::note).max().unwrap();
                assert!(longest > stall_timeout / 2, "{error}, where the longest gap was {longest:?}");
            }
        }
    }
    panic!("this machine made a gap of {:?} in each of 100 downloads", stall_timeout / 2);
}

#[test]
fn part1_download_without_mirrors_says_so() {
    let directory = TempDir::new().unwrap();
    let error = fetch(&downloader(&[]), directory.path()).unwrap_err();
    assert!(error.to_string().contains("no mirror is configured"), "{error}");
}

#[test]
fn part1_download_names_a_directory_it_cannot_create() {
    let parent = TempDir::new().unwrap();
    let path = parent.path().join("occupied");
    fs::write(&path, "a file").unwrap();
    let server = Server::good();
    for directory in [path.clone(), path.join("below")] {
        let error = fetch(&downloader(&[&server]), &directory).unwrap_err();
        assert!(matches!(error, DownloadError::CreateDirectory { .. }), "{error:?}");
        let expected = format!("cannot create the directory {}", directory.display());
        assert_eq!(error.to_string(), expected);
        assert!(error.source().is_some());
    }
    assert_eq!(server.requests(), 0);
    assert_eq!(fs::read(&path).unwrap(), b"a file");
}

#[test]
fn part1_download_names_a_file_it_cannot_read() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(FILE.name);
    fs::create_dir(&path).unwrap();
    let error = fetch(&downloader(&[&Server::good()]), directory.path()).unwrap_err();
    assert!(matches!(error, DownloadError::ReadFile { .. }), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

/// The directory vanishes after the answer has begun, so the rename fails.
#[cfg(unix)]
#[test]
fn part1_download_names_a_file_it_cannot_write() {
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("data");
    let server = Server::good();
    let second = Server::good();
    let error = downloader(&[&server, &second])
        .fetch_all(&[FILE], &directory, &mut |_, event| {
            if matches!(event, DownloadEvent::Started { .. }) {
                fs::remove_dir_all(&directory).unwrap();
            }
        })
        .unwrap_err();
    assert!(matches!(error, DownloadError::WriteFile { .. }), "{error:?}");
    assert!(error.to_string().contains(directory.join(FILE.name).to_str().unwrap()), "{error}");
    assert_eq!(second.requests(), 0, "a failed write does not try another mirror");
}

/// A temporary file is private. The data file must be as readable as any other new file.
#[cfg(unix)]
#[test]
fn part1_download_leaves_the_mode_to_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().unwrap();
    fetch(&downloader(&[&Server::good()]), directory.path()).unwrap();
    fs::write(directory.path().join("ordinary"), "").unwrap();
    let mode = |name| fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode(FILE.name), mode("ordinary"));
}

#[test]
fn part1_download_constants_are_well_formed() {
    for file in MNIST_FILES {
        assert!(file.name.ends_with("-ubyte.gz"), "{file:?}");
        assert_eq!(file.sha256.len(), 64, "{file:?}");
        assert!(file.sha256.bytes().all(|digit| digit.is_ascii_hexdigit()), "{file:?}");
    }
    assert_eq!(Downloader::default().mirrors, MNIST_MIRRORS);
    assert!(MNIST_MIRRORS.iter().all(|mirror| mirror.starts_with("https://")));
}

/// Downloads 11 MB from the internet, only if `NETWORK_TESTS=require`.
#[test]
fn part1_download_fetches_mnist_from_every_mirror() {
    if std::env::var_os("NETWORK_TESTS").is_none_or(|value| value != "require") {
        return skip(Need::Network, "NETWORK_TESTS=require is not set, so nothing is fetched from the internet");
    }
    for mirror in MNIST_MIRRORS {
        let directory = TempDir::new().unwrap();
        let downloader = Downloader { mirrors: vec![mirror.into()], ..Downloader::default() };
        downloader.fetch_all(&MNIST_FILES, directory.path(), &mut |_, _| {}).unwrap();
    }
}

#[test]
fn part1_download_goes_where_it_is_told_else_to_a_directory_of_that_name() {
    assert_eq!(download_directory(Some(Path::new("elsewhere"))), Path::new("elsewhere"));
    let usual = download_directory(None);
    assert!(usual.ends_with("mnist") && usual.components().count() > 1, "{}", usual.display());
}
